## Published measured runs, installed.
