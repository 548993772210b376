"""Prints the profile that TuneD would apply, as TuneD's own modules load and merge it. Starts no program, writes nothing."""

import json
import os
import sys

asked = json.loads(sys.argv[1])
sys.path[:0] = asked["modules"]

import tuned.consts as consts
import tuned.version as version
from tuned.profiles.factory import Factory
from tuned.profiles.loader import Loader
from tuned.profiles.locator import Locator
from tuned.profiles.merger import Merger
from tuned.profiles.variables import Variables
from tuned.utils.commands import commands
from tuned.utils.global_config import GlobalConfig

# What each file of a profile says, in the order in which they are merged.
merged = []


class Static(Variables):
    """Functions of profiles start programs: their calls stay as they are."""

    def expand(self, value):
        return None if value is None else self.expand_static(str(value))


class NotingLoader(Loader):
    def _load_config_data(self, file_name):
        config = super()._load_config_data(file_name)
        factory.read = (file_name, {name: dict(unit) for name, unit in config.items()})
        return config


class NotingFactory(Factory):
    def __init__(self):
        self.read = None
        self.made = []

    def create(self, name, config):
        profile = super().create(name, config)
        self.made.append((profile, self.read))
        return profile


class NotingMerger(Merger):
    def merge(self, profiles):
        merged.extend(read for profile in profiles for made, read in factory.made if made is profile)
        return super().merge(profiles)


def directories(config):
    """Version 2.22 and earlier have no setting for them."""
    if asked["directories"] is not None:
        return asked["directories"]
    if hasattr(consts, "CFG_PROFILE_DIRS"):
        return config.get_list(consts.CFG_PROFILE_DIRS, consts.CFG_DEF_PROFILE_DIRS)
    return consts.LOAD_DIRECTORIES


def preset():
    """What TuneD's files name, where `tuned-adm active` did not say it."""
    active, _ = commands().get_active_profile()
    return (active or "").split() + (commands().get_post_loaded_profile() or "").split()


def origin(unit, key, value):
    """The last file that has the value; each script is of a file of its own."""
    for file, config in reversed(merged):
        own = config.get(unit.name, {}).get(key)
        if own is not None and (key != "script" or value in own):
            return file
    return None


def values(unit):
    """What can set a scheduler."""
    options = unit.options
    if unit.type == "disk":
        found = [("elevator", options.get("elevator"))]
    elif unit.type == "script":
        found = [("script", script) for script in options.get("script") or [] if is_run(script)]
    elif unit.type == "sysfs":
        found = [(path, value) for path, value in options.items() if path.endswith("/scheduler")]
    else:
        found = []
    return [
        {"key": key, "value": variables.expand(value), "file": origin(unit, key, value)}
        for key, value in found
        if value is not None
    ]


def bare(of, **fields):
    """An object for a method that needs no more of it than these fields."""
    made = of.__new__(of)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def is_run(script):
    """Later versions run scripts inside the directories of profiles only."""
    if asked["directories"] is not None:
        return True
    from tuned.plugins.plugin_script import ScriptPlugin

    if not hasattr(ScriptPlugin, "_safe_script_path"):
        return True
    return bare(ScriptPlugin, _global_cfg=config)._safe_script_path(script)


def is_used(unit):
    """By `enabled`, and by the machine's processor and name."""
    if not unit.enabled:
        return False
    if unit.cpuinfo_regex is None and unit.uname_regex is None:
        return True
    from tuned.units.manager import Manager

    manager = bare(Manager, _config=config, _cmd=commands())
    return manager._unit_matches_cpuinfo(unit) and manager._unit_matches_uname(unit)


def priority(unit):
    """An attribute in later versions, an option in earlier ones."""
    own = getattr(unit, "priority", None)
    own = unit.options.get("priority") if own is None else own
    return int(config.get("default_instance_priority") or 0 if own is None else own)


def assigned(units):
    """Which disks each unit gets: one that matches takes those that no unit before it took. None: TuneD cannot see them."""
    try:
        import pyudev
        from tuned.hardware.device_matcher import DeviceMatcher
        from tuned.hardware.device_matcher_udev import DeviceMatcherUdev
        from tuned.plugins.plugin_disk import DiskPlugin

        context = pyudev.Context()
        devices = [pyudev.Devices.from_name(context, "block", name) for name in asked["disks"]]
    except Exception:
        return {}
    free = [device for device in devices if DiskPlugin._device_is_supported(device)]
    disks = {}
    for unit in units:
        regex = unit.devices_udev_regex
        if regex is None:
            taken = [device for device in free if DeviceMatcher().match(unit.devices, device.sys_name)]
        else:
            taken = [device for device in free if DeviceMatcherUdev().match(regex, device)]
        free = [device for device in free if device not in taken]
        disks[unit.name] = [device.sys_name for device in taken]
    return disks


config = GlobalConfig(asked["settings"] or consts.GLOBAL_CONFIG_FILE)
variables = Static()
factory = NotingFactory()
loader = NotingLoader(Locator(directories(config)), factory, NotingMerger(), config, variables)
names = preset() if asked["profiles"] is None else asked["profiles"]
units = []
if names:
    profile = loader.load(names)
    # Earlier versions merge no single profile.
    merged = merged or [read for _, read in factory.made]
    units = sorted(filter(is_used, profile.units.values()), key=priority)
disks = assigned([unit for unit in units if unit.type == "disk"])
said = {
    "version": ".".join(
        str(part) for part in (version.TUNED_VERSION_MAJOR, version.TUNED_VERSION_MINOR, version.TUNED_VERSION_PATCH)
    ),
    "profiles": names,
    "units": [
        {
            "name": unit.name,
            "type": unit.type,
            "devices": unit.devices,
            "devices_udev_regex": unit.devices_udev_regex,
            "values": values(unit),
            "disks": disks.get(unit.name),
        }
        for unit in units
    ],
}
print(json.dumps(said))
