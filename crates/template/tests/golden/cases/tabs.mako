a	b
	indented ${port}
	% if port:
	yes	
	% endif
end	