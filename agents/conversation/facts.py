"""What a prompt says, as data for a model that does not read prose (`local:rules`)."""
