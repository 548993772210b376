//! What installs the udev rule: modules, playbooks and machine configurations. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Sheet, indented, left_out, udev};

pub fn nixos(sheet: &Sheet<'_>) -> String {
    format!(
        "{{\n  services.udev.extraRules = ''\n{}  '';\n}}\n",
        indented(&rules(sheet), "    ")
    )
}

/// The rules, without words on where they are to be written.
fn rules(sheet: &Sheet<'_>) -> String {
    left_out(sheet) + &sheet.text()
}

pub fn ansible(sheet: &Sheet<'_>) -> String {
    format!(
        "# A playbook: ansible-playbook --check --diff FILE\n\
         - name: {schedulers} for the disks that iosched-ab measured\n\
         \x20 hosts: all\n\
         \x20 become: true\n\
         \x20 tasks:\n\
         \x20   - name: Install the udev rule\n\
         \x20     ansible.builtin.copy:\n\
         \x20       dest: {file}\n\
         \x20       mode: \"0644\"\n\
         \x20       content: !unsafe |\n{rules}\
         \x20     notify: Apply the udev rules\n\
         \x20 handlers:\n\
         \x20   - name: Apply the udev rules\n\
         \x20     ansible.builtin.shell: udevadm control --reload && udevadm trigger --action=change --subsystem-match=block\n",
        schedulers = sheet.schedulers(),
        file = udev::file(sheet),
        rules = indented(&rules(sheet), "          "),
    )
}

/// For the nodes of the role `worker`; Ignition 3.2 is what OpenShift 4.7 and later read.
pub fn machineconfig(sheet: &Sheet<'_>) -> String {
    let whole = udev::whole(sheet);
    format!(
        "# A MachineConfig: oc apply -f FILE. The nodes of the pool are drained and restarted one after the other.\n\
         # For another pool, change the role. The file in it, which is in base64 below:\n{readable}\
         apiVersion: machineconfiguration.openshift.io/v1\n\
         kind: MachineConfig\n\
         metadata:\n\
         \x20 name: 61-worker-{name}\n\
         \x20 labels:\n\
         \x20   machineconfiguration.openshift.io/role: worker\n\
         spec:\n\
         \x20 config:\n\
         \x20   ignition:\n\
         \x20     version: 3.2.0\n\
         \x20   storage:\n\
         \x20     files:\n\
         \x20       - path: {file}\n\
         \x20         mode: 420\n\
         \x20         overwrite: true\n\
         \x20         contents:\n\
         \x20           source: data:text/plain;charset=utf-8;base64,{encoded}\n",
        readable = indented(&whole, "#   "),
        name = sheet.name(),
        file = udev::file(sheet),
        encoded = STANDARD.encode(&whole),
    )
}
