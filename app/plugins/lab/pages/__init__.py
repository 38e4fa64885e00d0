"""The lab at `/lab`: pages over the functions of `app.plugins.lab`, for keys with the scope `lab`."""
