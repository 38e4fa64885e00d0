"""Where documents come from: files beside a message, an index of documents, web pages, searches."""
