"""A small continuous-batching engine over Wavefire: model.py, then scheduler.py, then engine.py."""
