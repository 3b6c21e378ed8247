"""How a Spark session supports the language, and how it shows results."""
