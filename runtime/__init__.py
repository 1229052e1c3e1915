"""What happens when a program is called. Import the modules of this package by name; nothing is loaded here."""
