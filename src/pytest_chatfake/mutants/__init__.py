"""Would your tests notice one false fact at a time? An extra, which no room of the core imports."""
