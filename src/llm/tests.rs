//! The client against a scripted server on loopback.
