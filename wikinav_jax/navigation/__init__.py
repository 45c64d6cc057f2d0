"""The navigation room: policies that follow links to a target (RFBC)."""
