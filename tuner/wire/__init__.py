"""The messages on the sockets, and clients that speak them."""
