"""Security of the official archives of Elasticsearch: TLS, and a user.

    secured_cluster.py   checks a request, and says how clients reach the cluster
    secured_program.py   configures each node
    certificates.py      the authority of the cluster and the certificates of its nodes
    engine_user.py       the user that clients authenticate as

The cars of Rally's team repository make their certificates and their user themselves, with hooks; then only
what they leave out is added.
"""
