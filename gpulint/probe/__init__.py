"""What a TensorFlow program did when it ran: reading what it printed."""
