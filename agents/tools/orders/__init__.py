"""The tools of the shop. Who is signed in is a trusted value: none of them shows or changes what is another's."""
