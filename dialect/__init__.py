"""What a program is: types, the op table, the tierup dialect, passes and pipelines.

Nothing is imported here: `tierup.dialect.base.dtypes` and its like must stay free of MLIR, so import the module you need.
"""
