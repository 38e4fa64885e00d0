"""What finds things by how people ask for them; built when the application starts, nothing is downloaded."""
