# The demo, without anything on your machine but Docker:
#   docker build -t sqlext . && docker run --rm -it sqlext
FROM python:3.12-slim-bookworm
RUN apt-get update \
 && apt-get install --yes --no-install-recommends openjdk-17-jre-headless procps \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN pip install --no-cache-dir '.[delta,shell]' && sqlext warm
RUN useradd --create-home demo
USER demo
WORKDIR /home/demo
# Downloads Delta's jar, so that the demo needs no network.
RUN python -c "import sqlext; sqlext.session(master='local[1]').stop()" && rm -rf spark-warehouse
ENTRYPOINT ["sqlext"]
CMD ["demo"]
