"""Set the environment of the encoders before a test module imports numpy."""

import os

from ccgrep.semantic import ENVIRONMENT

os.environ.update(ENVIRONMENT)
