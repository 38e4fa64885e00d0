"""A shop: its records, who may see and change them, and what may be done to an order.

The records stand in the database of the conversations, so that a write commits together with the answer of the tool
that makes it. Their schema is that of the retail environment of tau2-bench.
"""
