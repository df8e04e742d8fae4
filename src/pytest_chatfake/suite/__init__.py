"""What a pytest run shows about its fakes: sections in failure reports, and cards."""
