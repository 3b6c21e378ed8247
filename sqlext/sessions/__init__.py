"""How a Spark session learns the language, and what it shows."""
