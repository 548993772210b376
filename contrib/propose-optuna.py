#!/usr/bin/env python3
"""Names arms for `iosched-ab tune --propose`, by Optuna's TPE sampler. The contract is in docs/tune.md."""
import json
import sys

import optuna

SPACE = {
    "mq-deadline": {"iosched/fifo_batch": ["1", "4", "16", "64"], "iosched/read_expire": ["50", "150", "500"]},
    "kyber": {"iosched/read_lat_nsec": ["500000", "2000000", "8000000"]},
    "bfq": {"iosched/slice_idle": ["0", "2", "8"], "iosched/low_latency": ["0", "1"]},
}

question, *arms = map(json.loads, sys.stdin)
offered = sorted({arm["scheduler"] for arm in arms if "refused" not in arm} & SPACE.keys())
optuna.logging.set_verbosity(optuna.logging.WARNING)
sampler = optuna.samplers.TPESampler(seed=question["seed"] + len(arms), n_startup_trials=6)
study = optuna.create_study(direction="maximize", sampler=sampler)

for arm in arms:
    space = SPACE.get(arm["scheduler"], {})
    if "refused" in arm or not space or arm["settings"].keys() != space.keys():
        continue
    params = {"scheduler": arm["scheduler"]} | arm["settings"]
    choices = {"scheduler": offered} | space
    ways = {name: optuna.distributions.CategoricalDistribution(choices[name]) for name in params}
    # An arm that stalled has no score, and one that costs what is to be kept is no answer.
    value = arm["score"] if arm["score"] is not None and arm["is_kept"] else -1.0
    study.add_trial(optuna.trial.create_trial(params=params, distributions=ways, value=value))

for _ in range(min(4, question["may_name"])):
    trial = study.ask()
    scheduler = trial.suggest_categorical("scheduler", offered)
    settings = [f"{name}={trial.suggest_categorical(name, values)}" for name, values in SPACE[scheduler].items()]
    print(",".join([scheduler, *settings]))
