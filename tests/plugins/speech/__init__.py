"""The plug-in that writes speech down."""
