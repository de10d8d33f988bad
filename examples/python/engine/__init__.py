"""A small continuous-batching engine over Wavefire. Read model.py, then scheduler.py, then engine.py."""
