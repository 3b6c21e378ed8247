"""The playground: a page on loopback in which a pattern is tried on rows, without Spark.

table        the rows, from a CSV file, a lesson or a table of Spark
statement    the text of a statement → its clause, bound to the columns
rows_search  the rows in their order, the truth of each condition, and the matches
result_rows  the rows of the result, with the values of MEASURES
answer       all that the page shows of a statement, as values of JSON
server       the page and its answers over HTTP, for one browser on this machine
"""
