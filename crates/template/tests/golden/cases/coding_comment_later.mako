x
# coding: utf-8
y
