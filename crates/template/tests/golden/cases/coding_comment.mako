# -*- coding: utf-8 -*-
first line is gone
