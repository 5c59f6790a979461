"""The functions of the package, a module for each command, and what their modules share."""
