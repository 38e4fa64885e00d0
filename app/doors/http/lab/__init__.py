"""The lab at `/lab`: pages over the functions of `app.lab`, for keys with the scope `lab`."""
