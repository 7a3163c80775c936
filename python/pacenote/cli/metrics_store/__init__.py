"""What commands write to a metrics store, find in it and delete from it."""
