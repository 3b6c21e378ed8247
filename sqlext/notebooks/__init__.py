"""SQL in notebooks: the magics of IPython and Jupyter, and notebooks in the source form of Databricks."""
