"""Rules about precision and kernels (GPU6xx)."""
