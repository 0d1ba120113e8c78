"""The private stack of a tree: PostgreSQL, RabbitMQ and Granary's processes. Standard library only.

layout     where everything lives: directories, secrets, ports
processes  starting, recognising and ending processes
postgres   a private cluster
rabbitmq   a private node
services   the table of Granary's processes and the environment of each
local      all of it together: what `stack` and the integration tests call
"""
