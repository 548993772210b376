"""In place of the get-pip.py that `ansible-test` downloads from a site of its own: pip's wheel from the package index, beside this file."""

import glob
import os
import runpy
import sys

sys.path.insert(0, glob.glob(os.path.join(os.path.dirname(__file__), "pip-*.whl"))[0])
sys.argv = ["pip", "install"] + [word for word in sys.argv[1:] if word not in ("--no-setuptools", "--no-wheel")]
runpy.run_module("pip", run_name="__main__")
