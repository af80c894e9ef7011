<% id = 5; type_ = 'x' %>${id} ${type_}
