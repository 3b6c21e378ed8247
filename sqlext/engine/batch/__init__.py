"""The Spark side of batch: plans of a clause as SQL around a Python map."""
