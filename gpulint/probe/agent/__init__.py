"""What runs inside the user's program. Standard library only; TensorFlow is what the program itself has loaded."""
