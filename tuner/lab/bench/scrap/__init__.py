"""What `tuner bench scrap` measures: whether the scrap contract holds, also where the model is wrong, and its price."""
