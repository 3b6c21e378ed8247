"""From a clause and its types to the plan of an operator."""
