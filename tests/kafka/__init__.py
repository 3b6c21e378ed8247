"""Kafka as it is: a broker of its own on this machine (`broker.py`), with jars from Maven Central (`jars.py`)."""
