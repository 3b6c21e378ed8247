"""Tables of the records of Kafka's topics: how they are created, and read as streams and in batch."""
