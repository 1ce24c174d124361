"""The pictures: a graph as plain data, its layout, SVG, text, and the widgets. Nothing is imported until it is used."""
