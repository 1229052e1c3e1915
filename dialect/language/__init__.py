"""The language of programs: the ops of the tierup dialect, contexts that know them, text that is read, what each stage relies on."""
