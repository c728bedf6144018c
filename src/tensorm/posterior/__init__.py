"""What the draws say: means, predictions, diagnostics, scores and exports."""
