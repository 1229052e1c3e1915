"""The ops of the tierup dialect: fields, meaning and checks of each."""
