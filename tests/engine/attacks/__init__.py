"""The hostile set: what people, models, services and files may try. Each test ends with nothing gained."""
